const READ_BYTES = 64 * 1024;
const KEPT_BYTES = 1024;

/**
 * Reads up to 64 KiB of a body, so that an ordinary receiver can finish its response, and returns the first 1 KiB as
 * text. If the body breaks off, returns what arrived. Never throws.
 */
export async function readResponse(body: AsyncIterable<Buffer>): Promise<string> {
  const head = Buffer.alloc(KEPT_BYTES);
  let kept = 0;
  let read = 0;
  try {
    for await (const chunk of body) {
      kept += chunk.copy(head, kept);
      read += chunk.length;
      if (read >= READ_BYTES) break;
    }
  } catch {
    // The status has already decided the outcome.
  }
  return toText(head.subarray(0, kept));
}

/** At most 1 KiB of UTF-8 that Postgres accepts: no NUL, no partial character at the end, U+FFFD for each bad byte. */
function toText(bytes: Buffer): string {
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '');
  // Each U+FFFD takes three bytes, so the text can exceed the limit.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(KEPT_BYTES));
  return text.slice(0, read);
}
