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

/** Runs attacks and counts what each one got, by attack. */
serveParent(async ({ target, names, bombs, seconds, scale }: AttackInput): Promise<Record<string, Tally>> => {
  const deadline = performance.now() + seconds * 1000;
  const attackerFor = (index: number): Attacker =>
    new Attacker(target, { scale, deadline }, bombs, `${ATTACKER_NETWORK}.${index + 1}`, target.attackers[index]!);
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
