import { type DayOfOrders, countOrdersByDay, medianCompletionMs } from '../db/overview';
import type { OrderDependencies } from './dependencies';

export type { DayOfOrders };

/** The last 30 days of a seller's orders. */
export interface Overview {
  /** Oldest first, today included. */
  days: DayOfOrders[];
  created: number;
  completed: number;
  completedPence: number;
  /** The share of the created orders that are SUCCESSFUL by now, from 0 to 1; null if none was created. */
  conversion: number | null;
  /** Median of the time from creation to completion; null if no order was completed. */
  medianMs: number | null;
}

export async function summarizeOrders({ db }: Pick<OrderDependencies, 'db'>, sellerId: string): Promise<Overview> {
  const [days, medianMs] = await Promise.all([countOrdersByDay(db, sellerId), medianCompletionMs(db, sellerId)]);
  const sum = (field: Exclude<keyof DayOfOrders, 'day'>) => days.reduce((total, day) => total + day[field], 0);
  const created = sum('created');
  return {
    days,
    created,
    completed: sum('completed'),
    completedPence: sum('completedPence'),
    conversion: created === 0 ? null : sum('converted') / created,
    medianMs,
  };
}
