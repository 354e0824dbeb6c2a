import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../tools/local-stack/ports';
import { installed } from './installed';
import { until } from './until';

/** Debian has the server and promtool in one package, which CI installs. */
export const hasPrometheus =
  Boolean(process.env.CI) || installed(['prometheus'], () => ['prometheus', '--version']).length > 0;

interface Series {
  labels: Record<string, string>;
  /** The values since the start, one for each second, without the undefined ones. */
  values: number[];
}

interface AlertRule {
  name: string;
  /** `ok` if the expression can be evaluated. */
  health: string;
  state: 'inactive' | 'pending' | 'firing';
}

export interface PrometheusServer {
  evaluate(expression: string): Promise<Series[]>;
  alertRules(): Promise<AlertRule[]>;
  stop(): Promise<void>;
}

/**
 * Starts Prometheus, which scrapes and evaluates the alert rules once a second.
 * @param jobs the address of each job's process
 */
export async function startPrometheus(jobs: Record<string, string>, ruleFile: string): Promise<PrometheusServer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'order-service-prometheus-'));
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [ruleFile],
    scrape_configs: Object.entries(jobs).map(([job, target]) => ({
      job_name: job,
      static_configs: [{ targets: [target] }],
    })),
  };
  // JSON is YAML.
  writeFileSync(path.join(folder, 'prometheus.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const args = ['config.file=prometheus.yml', 'storage.tsdb.path=data', `web.listen-address=${address}`];
  const child: ChildProcess = spawn(
    'prometheus',
    args.map((one) => `--${one}`),
    { cwd: folder, stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  const start = String(Math.floor(Date.now() / 1000));
  await until(
    () =>
      fetch(`http://${address}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    'Prometheus is ready',
  );

  async function read(name: string, parameters: Record<string, string> = {}): Promise<any> {
    const query = new URLSearchParams(parameters);
    const response = await fetch(`http://${address}/api/v1/${name}?${query.toString()}`);
    const { status, error, data } = (await response.json()) as any;
    if (status !== 'success') throw new Error(error);
    return data;
  }

  return {
    async evaluate(expression) {
      const end = String(Math.ceil(Date.now() / 1000));
      const { result } = await read('query_range', { query: expression, start, end, step: '1' });
      return result.map(({ metric, values }: any) => ({
        labels: metric,
        values: values.map(([, value]: [number, string]) => Number(value)).filter(Number.isFinite),
      }));
    },
    async alertRules() {
      const { groups } = await read('rules', { type: 'alert' });
      return groups.flatMap(({ rules }: any) => rules);
    },
    async stop() {
      child.kill();
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}
