import type { Settlement } from '../../domain/order';
import { londonDate } from '../domain/calendar';

const DAY_MS = 86_400_000;

/**
 * How the sandbox would pay the seller, if money moved: 1 % less, two days later.
 * @param id of the application or the payment
 */
export function sandboxSettlement(id: string, amountPence: number, at: Date): Settlement {
  const payoutDate = londonDate(new Date(at.getTime() + 2 * DAY_MS));
  return { reference: `SANDBOX-${id.slice(0, 8)}`, feePence: Math.round(amountPence / 100), payoutDate };
}
