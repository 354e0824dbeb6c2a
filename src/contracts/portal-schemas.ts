import { z } from 'zod';
import { optional, printableText } from './fields';
import { text, timestamp } from './order-schemas';

/** The whole body is optional. */
export const portalSessionRequestSchema = z.strictObject({
  data: z.strictObject({
    user: optional(printableText(100)).meta({
      description: 'The person who will use the page, as your back office knows them. It appears in the audit log.',
      examples: ['ada@shop.example'],
    }),
    read_only: optional(z.boolean()).meta({ description: 'True: the page can change nothing. Default: false.' }),
  }),
});
export type PortalSessionRequest = z.infer<typeof portalSessionRequestSchema>['data'];

export const portalSessionSchema = z
  .object({
    url: text('Redirect the person to it. It works once.', 'https://orders.example/portal/link/q8Zk…/'),
    expires_at: timestamp.meta({ description: 'When the link stops to work: ten minutes after the call' }),
    user: text('The person', 'ada@shop.example').nullable(),
    read_only: z.boolean().meta({ description: 'True if the page can change nothing', examples: [true] }),
  })
  .meta({ id: 'PortalSession', description: "A link to the seller's page" });
