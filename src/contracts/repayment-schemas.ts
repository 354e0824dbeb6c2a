import { z } from 'zod';
import { formatPence, penceToPounds } from '../domain/money';
import { type OrderRules, refuse } from './fields';
import { DOUBLE, pounds, promotionSchema, whole } from './order-schemas';

/** The amount in a query; parsed to pence. */
export function repaymentExampleQuerySchema({ maxAmountPence }: Pick<OrderRules, 'maxAmountPence'>) {
  const amount = z
    .string()
    .regex(/^\d{1,12}(\.\d{1,2})?$/, 'must be an amount in pounds with at most 2 decimal places, such as 1234.5')
    .transform((text, context) => {
      const pence = Math.round(Number(text) * 100);
      if (pence === 0) return refuse(context, 'too_small', 'must be greater than 0');
      if (pence > maxAmountPence) return refuse(context, 'too_big', `must be at most ${formatPence(maxAmountPence)}`);
      return pence;
    })
    .meta({
      description: 'Amount in pounds (GBP), as of an order',
      override: {
        examples: [1234.5],
        type: 'number',
        ...DOUBLE,
        pattern: undefined,
        minimum: 0.01,
        maximum: penceToPounds(maxAmountPence),
      },
    });
  return z.strictObject({ amount });
}

const instalmentSchema = z
  .object({
    due_in_months: whole('Months from the agreement until the instalment is due', 1),
    amount: pounds('Amount of the instalment in pounds (GBP)', 411.5),
  })
  .meta({ id: 'Instalment' });

const repaymentPromotion = promotionSchema
  .omit({ valid_until: true })
  .meta({ id: 'RepaymentPromotion', description: 'The promotion that reduces the interest; omitted if there is none' });

export const repaymentExampleSchema = z
  .object({
    amount: pounds('The amount in pounds (GBP)', 1234.5),
    instalments: z.array(instalmentSchema).meta({ description: 'The repayments, in the order of their due dates' }),
    total_amount: pounds('The sum of the instalments in pounds (GBP)', 1234.5),
    annual_interest: pounds('Yearly interest rate in percent; omitted if the lender states none', 0).optional(),
    promotion: repaymentPromotion.optional(),
  })
  .meta({ id: 'RepaymentExample', description: 'The repayments of an order of this amount that is approved today' });
export type RepaymentExampleBody = z.infer<typeof repaymentExampleSchema>;
