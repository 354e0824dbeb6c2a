import { type Api, apiOf } from './api';
import { type ServiceProcess, startProcess } from './processes';
import type { Stack } from './stack';

interface Service {
  api: Api;
  /** Everything that both processes have logged so far. */
  lines(): string[];
  stop(): Promise<void>;
}

/** Starts API and worker as processes, beside the stack whose settings they get. */
export async function startService(stack: Stack, env: Record<string, string> = {}): Promise<Service> {
  const start = (entry: 'server' | 'worker') => startProcess(entry, { ...stack.env, ...env });
  const processes: [ServiceProcess, ServiceProcess] = await Promise.all([start('server'), start('worker')]);
  return {
    api: apiOf(`http://127.0.0.1:${processes[0].port}`, stack.seller, stack.api.checkoutKey),
    lines: () => processes.flatMap(({ lines }) => lines),
    async stop() {
      await Promise.all(processes.map((one) => one.signal('SIGTERM')));
    },
  };
}
