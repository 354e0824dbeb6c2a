import type { LenderOutcome } from '../../src/checkout/sandbox/test-customers';
import type { Allowances, Broken } from './invariants';
import type { Ledger } from './ledger';
import type { Seeded } from './seeded';
import type { Shop } from './shopper';
import type { ChaosStack } from './stack';

/** A run of a cell: its stack, its random numbers, and what its callers know so far. */
export interface Scene {
  stack: ChaosStack;
  random: Seeded;
  ledger: Ledger;
  shops: readonly Shop[];
  /** Of the cell's `variants`: the one that the seed selects. */
  variant: string | undefined;
  /** Another version's folder, for cells that run two versions. */
  oldRoot: string | undefined;
  /** A value that a later step of the same run needs. */
  memory: Map<string, unknown>;
}

export type Spared = 'API' | 'service';

/** One way in which something fails under load. */
export interface Cell {
  name: string;
  /** Related faults. The seed selects one, in turn: three seeds cover up to three. */
  variants?: readonly string[];
  /** Why the cell cannot run here. */
  skip?: (here: Pick<ChaosStack, 'disk'> & Pick<Scene, 'oldRoot' | 'variant'>) => string | undefined;
  /** True if orders can be lost: callers accept a 404. */
  restores?: boolean;
  /** What the fault does not touch. `API`: creates and GETs still succeed. `service`: it touches only receivers, so hardly any run is replaced. */
  spares?: Spared | ((scene: Scene) => Spared | undefined);
  /** How long the load runs before its throughput is measured. Default: 1.5 s. */
  warmUpMs?: number;
  /** What the lender does with half of the applications; the others get any outcome. Default: it approves them. */
  usualLenderOutcome?: LenderOutcome;
  /** Before the load. */
  prepare?: (scene: Scene) => Promise<void>;
  /** Breaks something under load, and heals it. */
  strike: (scene: Scene) => Promise<void>;
  /** After the load and after all open orders are cancelled. */
  repair?: (scene: Scene) => Promise<void>;
  /** The webhook URLs of some of the shops, instead of the healthy receiver. */
  webhookUrls?: (stack: ChaosStack) => readonly string[];
  allowed?: (scene: Scene) => Allowances;
  /** Invariants of this cell alone, checked once everything is quiet. Returns the faults. */
  verify?: (scene: Scene) => Promise<Broken[]>;
  /** How long it may take until nothing is left to do, if that takes long. */
  quietWithinMs?: number;
}

export function variantOf({ variants = [] }: Pick<Cell, 'variants'>, seed: number): string | undefined {
  return variants[(seed - 1) % variants.length];
}

/** The part of a cell with one of these faults, by its name. */
export const oneOf = (faults: Record<string, Cell['strike']>): Pick<Cell, 'variants' | 'strike'> => ({
  variants: Object.keys(faults),
  strike: (scene) => faults[scene.variant!]!(scene),
});

/** Throws if a fault hit nothing: a run without a fault proves nothing. */
export function expectHits(count: number, what: string): void {
  if (count === 0) throw new Error(`it hit nothing: no ${what}`);
}

/** How long a fault lasts, in ms. */
export const faultMs = (random: Seeded): number => random.between(2500, 5000);
