import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../tools/package-root';
import type { Load } from './load';

export interface Numbers {
  standIns: boolean;
  imageMb: number;
  baseMb: number;
  buildSeconds: number;
  startSeconds: number;
  upgradeSeconds: number;
  load: Load;
  /** Seconds until a crashed container is healthy, by service. */
  healing: Record<string, number>;
  restartSeconds: number[];
}

const PAGE = path.join(PACKAGE_ROOT, 'docs/containers.md');
const TABLE = /(?<=<!-- table: npm run containers -->\n)[^]*(?=<!-- end of the table -->)/;

const seconds = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} s`;

function rows({ imageMb, baseMb, startSeconds, upgradeSeconds, load, healing, restartSeconds }: Numbers): string[][] {
  return [
    ['Size of the image, without the base image', `${imageMb - baseMb} MB`],
    ['`docker compose up --wait`, from nothing to healthy, image built', seconds(startSeconds)],
    ['Upgrade under load: calls, failed calls', `${load.calls.toLocaleString('en-GB')}, ${load.failed.length}`],
    [
      'Upgrade under load: duration with the build, slowest call',
      `${seconds(upgradeSeconds)}, ${seconds(load.slowestMs / 1000)}`,
    ],
    ...Object.entries(healing).map(([service, value]) => [
      `\`${service}\` killed: healthy again after`,
      seconds(value),
    ]),
    ['Stopped and started on the kept volumes, twice: healthy after', restartSeconds.map(seconds).join(', ')],
  ];
}

export function printNumbers(numbers: Numbers): void {
  console.log(`\nimage ${numbers.imageMb} MB, base ${numbers.baseMb} MB, build ${seconds(numbers.buildSeconds)}`);
  for (const [what, value] of rows(numbers)) console.log(`${what!}: ${value!}`);
}

/** Replaces the table in docs/containers.md. */
export async function writeTable(numbers: Numbers): Promise<void> {
  const images = numbers.standIns ? 'stand-ins for the images' : 'the images of the registry';
  const table = [
    'What | Measured',
    '---|--:',
    ...rows(numbers).map((row) => row.join(' | ')),
    '',
    `Last run: ${new Date().toISOString().slice(0, 10)}, on ${images}.`,
    '',
  ].join('\n');
  await writeFile(
    PAGE,
    (await readFile(PAGE, 'utf8')).replace(TABLE, () => table),
  );
}
