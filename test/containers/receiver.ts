import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { until } from '../support/until';
import type { Project } from './compose';

/** A receiver that verifies each webhook, in the network of the services. */
export interface ContainerReceiver {
  url: string;
  /** Waits until each of these orders has sent a verified webhook about its last change, with gapless sequences. */
  waitFor(orderIds: readonly string[]): Promise<void>;
  restart(): Promise<void>;
}

const PORT = 4000;

export async function startReceiver({ run, name }: Project, secret: string): Promise<ContainerReceiver> {
  const container = `${name}-receiver`;
  const mount = (folder: string) => `-v ${path.join(PACKAGE_ROOT, folder)}:/receiver/${folder}:ro`;
  const start = async (): Promise<void> => {
    await run(
      `docker run -d --name ${container} --network ${name}_default --network-alias receiver -e WEBHOOK_SECRET=${secret} -e RECEIVER_HOST=0.0.0.0 ` +
        `${mount('examples')} ${mount('node_modules')} --entrypoint node order-service:local /receiver/examples/webhook-receiver.mjs`,
    );
  };
  await run(`docker rm -f ${container} || true`);
  await start();
  const statuses = async (): Promise<Map<string, string[]>> => {
    const received = new Map<string, string[]>();
    const lines = (await run(`docker logs ${container} 2>&1`)).split('\n');
    for (const line of lines) {
      const [, sequence, status, id] =
        /^verified order\.status_changed (\d+): \w+ -> (\w+) by \w+, order (\S+)$/.exec(line) ?? [];
      if (id) received.set(id, [...(received.get(id) ?? []), `${sequence!} ${status!}`]);
      if (line.startsWith('rejected')) throw new Error(line);
    }
    return received;
  };
  return {
    url: `http://receiver:${PORT}/`,
    async waitFor(orderIds) {
      const isFinal = (received: string[] = []) =>
        received.some((one) => /SUCCESSFUL$/.test(one)) &&
        received.every((one, index) => one.startsWith(`${index + 1} `));
      let missing = [...orderIds];
      const arrived = async () => {
        const received = await statuses();
        missing = missing.filter((id) => !isFinal(received.get(id)));
        return missing.length === 0;
      };
      await until(arrived, `the webhooks of these orders arrive in order`, 120_000).catch((error: unknown) => {
        throw new Error(`webhooks are missing: ${missing.join(', ')}`, { cause: error });
      });
    },
    async restart() {
      await run(`docker restart ${container}`);
    },
  };
}
