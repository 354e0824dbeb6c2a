import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** An empty folder for the tests of a file or of a `describe` block, which is removed after them. */
export function useFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'order-service-files-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
