import { type Html, html } from '../html/html';

/** A mail before it is written as plain text and as HTML. */
export interface MailContent {
  /** No personal data: it appears on locked screens. */
  subject: string;
  /** Paragraphs, and tables of labels and values. */
  parts: readonly (string | readonly (readonly [label: string, value: string])[])[];
  link: { text: string; url: string };
  /** Who wrote it, and why. */
  footer: string;
}

export function renderMail({ subject, parts, link, footer }: MailContent): {
  subject: string;
  text: string;
  html: string;
} {
  const texts = parts.map((part) =>
    typeof part === 'string' ? part : part.map(([label, value]) => `${label}: ${value}`).join('\n'),
  );
  return {
    subject,
    text: [...texts, `${link.text}:\n${link.url}`, `-- \n${footer}\n`].join('\n\n'),
    html: document(subject, parts, link, footer).text,
  };
}

/** Inline styles: mail programs support little else. */
function document(subject: string, parts: MailContent['parts'], link: MailContent['link'], footer: string): Html {
  const shown = parts.map((part) =>
    typeof part === 'string'
      ? html`<p style="margin:0 0 16px">${part}</p>`
      : html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="margin:0 0 16px">
          ${part.map(
            ([label, value]) =>
              html`<tr>
                <td style="padding:6px 12px 6px 0;border-bottom:1px solid #d5d9e0;color:#565d69">${label}</td>
                <td align="right" style="padding:6px 0;border-bottom:1px solid #d5d9e0">${value}</td>
              </tr>`,
          )}
        </table>`,
  );
  return html`<!doctype html>
    <html lang="en-GB">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${subject}</title>
      </head>
      <body style="margin:0;padding:16px;background:#f3f4f6">
        <div
          style="max-width:560px;margin:0 auto;padding:24px;background:#ffffff;font:16px/1.5 Arial,sans-serif;color:#16181d;overflow-wrap:anywhere"
        >
          ${shown}
          <p style="margin:24px 0">
            <a
              href="${link.url}"
              style="display:inline-block;padding:12px 20px;background:#1f4f8f;color:#ffffff;text-decoration:none"
              >${link.text}</a
            >
          </p>
          <p style="margin:0;font-size:13px;color:#565d69">${footer}</p>
        </div>
      </body>
    </html>`;
}
