import type { Section } from '../section';
import { burst } from './burst';
import { cancel } from './cancel';
import { cost } from './cost';
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
  cancel,
  starts,
  orders,
  burst,
  webhooks,
  cost,
  memory,
  rows,
};
