import type { Section } from '../section';
import { cancel } from './cancel';
import { create } from './create';
import { orders } from './orders';
import { read } from './read';
import { starts } from './starts';

/** By the name for `--only`, in the order of the page. */
export const SECTIONS: Record<string, Section> = { create, read, cancel, starts, orders };
