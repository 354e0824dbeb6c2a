/** A page of metrics: each sample by its name and labels, such as `orders{status="CREATED"}`. */
export interface Metrics {
  /** The names of all metrics and of the series of histograms. */
  names: Set<string>;
  /** The sum of the samples with this name and these labels. */
  value: (name: string, labels?: Record<string, string>) => number;
  /** All values of a label. */
  labels: (name: string, label: string) => Set<string>;
}

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;

/** @param addresses `host:port` of processes, whose samples are added up */
export async function scrape(...addresses: string[]): Promise<Metrics> {
  const pages = await Promise.all(
    addresses.map(async (address) => {
      const response = await fetch(`http://${address}/metrics`);
      if (!response.ok) throw new Error(`${address} answers ${response.status}`);
      return response.text();
    }),
  );
  return parseMetrics(pages.join('\n'));
}

export function parseMetrics(page: string): Metrics {
  const samples = page.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key!, text!] as const);
    return [{ name, labels: Object.fromEntries<string>(pairs), value: Number(value) }];
  });
  return {
    names: new Set(samples.map(({ name }) => name)),
    value: (name, labels = {}) =>
      samples
        .filter(
          (sample) => sample.name === name && Object.entries(labels).every(([key, it]) => sample.labels[key] === it),
        )
        .reduce((sum, { value }) => sum + value, 0),
    labels: (name, label) =>
      new Set(samples.filter((sample) => sample.name === name).map((sample) => sample.labels[label] ?? '')),
  };
}
