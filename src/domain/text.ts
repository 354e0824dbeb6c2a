const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** True for a UUID of any version, in either case. */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text);
}

/** Not a key or secret that was sent in the wrong field: ids are logged, and stored in Temporal. */
const REQUEST_ID = /^(?!sk_|ck_|whsec_)[\w.:/+=-]{1,128}$/;

export const isRequestId = (value: unknown): value is string => typeof value === 'string' && REQUEST_ID.test(value);

/** W3C Trace Context, version 00: version-traceid-parentid-flags. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Returns the trace id; undefined if the value is not a valid `traceparent`. */
export function traceIdOf(traceparent: string | null | undefined): string | undefined {
  return TRACEPARENT.exec(traceparent ?? '')?.[1];
}

/** Control characters, line and paragraph separators, and those that change the direction of text. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Text from outside with `\uXXXX` in place of each character that could change how other text is displayed. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
