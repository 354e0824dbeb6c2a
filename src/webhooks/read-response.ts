const READ_BYTES = 64 * 1024;
const KEPT_BYTES = 1024;

/**
 * Reads a body of any length up to 64 KiB, so that an ordinary receiver is not cut off in mid-answer, and gives its
 * first 1 KiB as text. A body that breaks off, or is cut off, counts as far as it came; never throws.
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
    // The status has already decided.
  }
  return toText(head.subarray(0, kept));
}

/** At most 1 KiB of UTF-8 that Postgres takes: no NUL, no half character at the end, bad bytes as U+FFFD. */
function toText(bytes: Buffer): string {
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '');
  // Each bad byte has become three.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(KEPT_BYTES));
  return text.slice(0, read);
}
