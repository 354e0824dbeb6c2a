import type { Section } from '../section';
import { burst } from './burst';
import { create } from './create';
import { memory } from './memory';
import { orders } from './orders';
import { read } from './read';
import { rows } from './rows';
import { starts } from './starts';
import { webhooks } from './webhooks';

/** By the name for `--only`, in the order of the page. */
export const SECTIONS: Record<string, Section> = {
  create,
  read,
  starts,
  orders,
  burst,
  webhooks,
  memory,
  rows,
};
