import type { Servers } from './servers';
export function profile(_servers: Servers): Promise<void> { return Promise.resolve(); }
