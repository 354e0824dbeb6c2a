import type { Load } from './load';

/** A new version in every container, while calls arrive. */
export interface RollOut {
  seconds: number;
  load: Load;
}

export interface Numbers {
  imageMb: number;
  baseMb: number;
  buildSeconds: number;
  startSeconds: number;
  upgrade: RollOut;
  scaleSeconds: number;
  rollBack: RollOut;
  /** Seconds until a crashed container is healthy, by service. */
  healing: Record<string, number>;
  restartSeconds: number[];
  restoreSeconds: number;
}

const seconds = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} s`;

function rollOutRows(what: string, { seconds: duration, load }: RollOut): string[][] {
  return [
    [`${what} under load: calls, failed calls`, `${load.calls.toLocaleString('en-GB')}, ${load.failed.length}`],
    [
      `${what} under load: duration with the build, slowest call`,
      `${seconds(duration)}, ${seconds(load.slowestMs / 1000)}`,
    ],
  ];
}

function rows(numbers: Numbers): string[][] {
  const { imageMb, baseMb, startSeconds, upgrade, scaleSeconds, rollBack, healing, restartSeconds, restoreSeconds } =
    numbers;
  return [
    ['Size of the image, without the base image', `${imageMb - baseMb} MB`],
    ['`docker compose up --wait`, from nothing to healthy, image built', seconds(startSeconds)],
    ...rollOutRows('Upgrade', upgrade),
    ['Scale to two API and two worker containers', seconds(scaleSeconds)],
    ...rollOutRows('Rollback of two of each', rollBack),
    ...Object.entries(healing).map(([service, value]) => [
      `\`${service}\` killed: healthy again after`,
      seconds(value),
    ]),
    ['Stopped and started on the kept volumes, twice: healthy after', restartSeconds.map(seconds).join(', ')],
    ['Backup restored: healthy after', seconds(restoreSeconds)],
  ];
}

export function printNumbers(numbers: Numbers): void {
  const { imageMb, baseMb, buildSeconds } = numbers;
  console.log(`image ${imageMb} MB, base ${baseMb} MB, build ${seconds(buildSeconds)}`);
  for (const [what, value] of rows(numbers)) console.log(`${what!}: ${value!}`);
}
