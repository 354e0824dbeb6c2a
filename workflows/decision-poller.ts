import { CancellationScope, condition, proxyActivities } from '@temporalio/workflow';
import type { Activities, LenderResponse } from '../activities';
import { LENDER_TASK_QUEUE } from './messages';

/** What the seeker needs of the order that it seeks a decision for. */
interface DecidedOrder {
  /** Whether nobody waits for a decision any more. */
  isOver: () => boolean;
  /** Shows people how far the asking is. */
  announce: () => void;
  decided: (word: LenderResponse & { kind: 'decided' }) => Promise<void>;
}

/** Asks the lender for its decision on an order's application until there is one, however long the lender is out. */
export class DecisionPoller {
  private wanted = false;
  private doing: string | undefined;

  /** Once more does no harm: what is decided already is not asked for again. */
  start(): void {
    this.wanted = true;
  }

  /** For people: what is under way. */
  describe(): string | undefined {
    return this.doing;
  }

  async run(orderId: string, { isOver, announce, decided }: DecidedOrder): Promise<void> {
    const show = (doing: string | undefined): void => {
      this.doing = doing;
      announce();
    };
    for (;;) {
      show(undefined);
      await condition(() => this.wanted || isOver());
      if (isOver()) return;
      this.wanted = false;
      show('the lender is being asked');
      const word = await unless(isOver, () => askLender(orderId));
      if (word?.kind === 'referred') {
        this.wanted = true;
        const until = new Date(Date.now() + word.askAgainMs).toISOString();
        show(`the lender decides later: asked again at ${until}`);
        await condition(isOver, word.askAgainMs, { summary: 'until the lender is asked again' });
      } else if (word?.kind === 'decided') {
        show(undefined);
        await decided(word);
      }
    }
  }
}

/** Work that is cancelled where `isOver` turns true before it is done. */
async function unless<T>(isOver: () => boolean, work: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  try {
    return await scope.run(() => Promise.race([work(), condition(isOver).then(() => undefined)]));
  } finally {
    scope.cancel();
  }
}

function askLender(orderId: string): Promise<LenderResponse> {
  return proxyActivities<Activities>({
    taskQueue: LENDER_TASK_QUEUE,
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
    summary: 'ask the lender for its decision',
  }).askLender(orderId);
}
