/**
 * Everything on the page is same-origin. Scalar, the library that displays the document, sets its styles by script,
 * which needs 'unsafe-inline' for styles. Scripts are files of this server only.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** @param library the name of Scalar's script */
export const renderPage = (library: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Order service: API reference</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <noscript>This page needs JavaScript. The OpenAPI document is at <a href="/openapi.json">/openapi.json</a>.</noscript>
    <div id="docs"></div>
    <script src="${library}"></script>
    <script src="page.js"></script>
  </body>
</html>
`;

/** No fonts, telemetry, proxy or assistant of other hosts. Scalar makes the samples from the document. */
export const SCRIPT = `Scalar.createApiReference('#docs', {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  hideModels: true,
  documentDownloadType: 'direct',
  orderSchemaPropertiesBy: 'preserve',
  operationTitleSource: 'summary',
  customCss: ':root { --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace }',
});
`;
