import { ATTACKER_NETWORK } from './addresses';
import { Attacker, type Tally } from './attacker';
import { ATTACKS, type Bombs, createLargeOrders } from './attacks';
import { serveParent } from './child';
import type { Target } from './target';

export interface AttackInput {
  target: Target;
  /** Names of attacks that run at the same time. None: prepares the attackers' orders. */
  names: string[];
  bombs: Bombs;
  seconds: number;
  scale: number;
}

/** The limit of the process: further connections are refused, also those of others. */
const MOST_CONNECTIONS = 10_000;
/** Of each attack when all run at once: together they stay below the limit. */
const SHARED_CONNECTIONS = 1500;

/** Runs attacks and counts what each one got, by attack. */
serveParent(async ({ target, names, bombs, seconds, scale }: AttackInput): Promise<Record<string, Tally>> => {
  const deadline = performance.now() + seconds * 1000;
  const connections = names.length > 1 ? SHARED_CONNECTIONS : MOST_CONNECTIONS;
  const attackerFor = (index: number): Attacker => {
    const address = `${ATTACKER_NETWORK}.${index + 1}`;
    return new Attacker(target, { scale, deadline, connections }, bombs, address, target.attackers[index]!);
  };
  if (names.length === 0) {
    const attacker = attackerFor(0);
    await createLargeOrders(attacker);
    return { preparation: attacker.tally };
  }
  const tallies = await Promise.all(
    names.map(async (name) => {
      const attacker = attackerFor(Object.keys(ATTACKS).indexOf(name));
      await ATTACKS[name]!(attacker);
      return [name, attacker.tally] as const;
    }),
  );
  return Object.fromEntries(tallies);
});
