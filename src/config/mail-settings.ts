import { z } from 'zod';
import { setting } from './setting';

export const mailSettings = {
  mail: z
    .object({
      url: setting(
        'MAIL_URL',
        z.url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// URL', abort: true }).optional(),
        'Your mail server, such as `smtps://user:password@mail.example:465`: [emails](../lenders/checkout.md#emails) to ' +
          'customers and sellers of live accounts. `smtp://` uses STARTTLS, which the server must offer unless it is on ' +
          'this machine. If unset, none are sent, and no page promises one.',
      ),
      from: setting(
        'MAIL_FROM',
        z.email('must be an email address').optional(),
        'Address that emails are sent from. Its domain needs SPF, DKIM and DMARC. Required with `MAIL_URL`.',
      ),
    })
    .refine(({ url, from }) => url === undefined || from !== undefined, {
      path: ['from'],
      error: 'must be set with MAIL_URL',
    }),
};
