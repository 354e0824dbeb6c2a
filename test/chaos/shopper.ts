import { randomUUID } from 'node:crypto';
import type { ProgressEvent } from '../../src/domain/order';
import type { TestSeller } from '../support/stack';
import type { Caller, Reply, Request } from './caller';
import type { CallKind, Ledger, Listed, OrderRecord } from './ledger';

/** A seller with its webhook endpoint. */
export interface Shop extends TestSeller {
  webhookUrl: string | null;
  /** True if its customers use the hosted checkout. */
  isHosted: boolean;
}

/** Makes the calls of shops and checkouts about orders, and records every answer. */
export class Shopper {
  /** Orders with a complaint about a call, and those that a restoration has lost. */
  private readonly givenUp = new Set<OrderRecord>();

  constructor(
    private readonly caller: Caller,
    private readonly ledger: Ledger,
    private readonly checkoutKey: string,
    /** True if something else than the customer's journey changes orders too: any change can be refused. */
    private readonly canBeRefused: boolean,
    /** True if a restoration can undo what was acknowledged. */
    private readonly canVanish: boolean,
  ) {}

  /** @param copies identical creates at the same time, with the same Idempotency-Key */
  async create(shop: Shop, amount: number, { copies = 1, withKey = true } = {}): Promise<OrderRecord | undefined> {
    const reference = `ref-${randomUUID()}`;
    const record: OrderRecord = {
      ...{ sellerId: shop.id, reference, amount, webhookUrl: shop.webhookUrl },
      webhookSecret: shop.webhookSecret,
      ...{ ids: new Set(), answers: [], isCleanedUp: false, resent: false, resends: [] },
    };
    this.ledger.orders.push(record);
    const data = { amount, reference, ...(shop.webhookUrl !== null && { webhook_url: shop.webhookUrl }) };
    const request = {
      method: 'POST' as const,
      path: `/seller/${shop.id}/order/`,
      key: shop.key,
      body: { data },
      headers: withKey ? { 'idempotency-key': reference } : {},
    };
    // Without a key, or if a restoration has lost the key, the repeat of a lost call gets a 409 that names the order.
    const expected = withKey && !this.canVanish ? [201] : [201, 409];
    const replies = await Promise.all(Array.from({ length: copies }, () => this.caller.call(request, expected)));
    const answered = replies.filter((reply) => reply !== undefined).sort((a, b) => a.endedAt - b.endedAt);
    for (const reply of answered) {
      const id = reply.status === 201 ? reply.body.data.id : existingId(reply);
      record.ids.add(id);
      this.note(record, 'create', reply);
    }
    return record.ids.size > 0 ? record : undefined;
  }

  async read(shop: Shop, record: OrderRecord): Promise<void> {
    const request = { method: 'GET' as const, path: `/order/${idOf(record)}/`, key: shop.key };
    await this.ask(record, 'read', request, [200]);
  }

  /** @param isRace true if another change is requested at the same time, so that one of the two is refused */
  async cancel(shop: Shop, record: OrderRecord, isRace = false): Promise<void> {
    const request = { method: 'DELETE' as const, path: `/order/${idOf(record)}/`, key: shop.key };
    await this.ask(record, 'cancel', request, this.changed(isRace));
  }

  /** @param isRace as for `cancel` */
  async progress(record: OrderRecord, event: ProgressEvent, isRace = false): Promise<void> {
    const path = `/order/${idOf(record)}/progress/`;
    const request = { method: 'POST' as const, path, key: this.checkoutKey, body: { data: { event } } };
    await this.ask(record, event, request, this.changed(isRace));
  }

  async list(shop: Shop): Promise<void> {
    const path = `/seller/${shop.id}/order/?limit=20`;
    const reply = await this.caller.call({ method: 'GET', path, key: shop.key }, [200]);
    const orders: Listed[] = reply?.body.data ?? [];
    this.ledger.listed.push(
      ...orders.map(({ id, reference, amount }) => ({ sellerId: shop.id, id, reference, amount })),
    );
    const ids = orders.map(({ id }) => id);
    if (new Set(ids).size < ids.length) this.ledger.complaints.push(`a list of seller ${shop.id} has an order twice`);
  }

  /** Resends one of the seller's latest webhooks. Without a URL, they cannot be sent. */
  async resend(shop: Shop): Promise<void> {
    if (shop.webhookUrl === null) return;
    const path = `/seller/${shop.id}/webhook_event/?limit=5`;
    const events = (await this.caller.call({ method: 'GET', path, key: shop.key }, [200]))?.body.data ?? [];
    const event = events.at(-1);
    if (!event) return;
    const request = { method: 'POST' as const, path: `/webhook_event/${event.id}/resend/`, key: shop.key };
    const requestedAt = Date.now();
    const reply = await this.caller.call(request, this.canVanish ? [202, 404] : [202]);
    const record = this.ledger.orders.find(({ ids }) => ids.has(event.order_id));
    if (!record || reply?.status !== 202) return;
    record.resent = true;
    record.resends.push({ webhookId: event.id, requestedAt });
    this.note(record, 'resend', reply);
  }

  /** The statuses that answer a change. */
  private changed(isRace: boolean): number[] {
    return isRace || this.canBeRefused ? [200, 409] : [200];
  }

  /** Calls no more about an order after a complaint, or once it is gone. */
  private async ask(record: OrderRecord, kind: CallKind, request: Request, expected: number[]): Promise<void> {
    if (this.givenUp.has(record)) return;
    const reply = await this.caller.call(request, this.canVanish ? [...expected, 404] : expected);
    if (!reply || reply.status === 404) this.givenUp.add(record);
    this.note(record, kind, reply);
  }

  private note(record: OrderRecord, kind: CallKind, reply: Reply | undefined): void {
    if (!reply) return;
    const { status, startedAt, endedAt, etag } = reply;
    const order = reply.body?.data;
    if (order?.order_url) record.payPath = new URL(order.order_url).pathname;
    record.answers.push({
      ...{ kind, status, startedAt, endedAt },
      ...(status < 300 && kind !== 'resend' && { order }),
      ...(etag !== undefined && { version: parseInt(etag.slice(1), 10) }),
    });
  }
}

const idOf = ({ ids }: OrderRecord): string => [...ids].at(-1)!;

/** The order that a 409 for a duplicate reference names. */
function existingId({ body }: Reply): string {
  const text = JSON.stringify(body);
  return /"order_id":"([0-9a-f-]{36})"/.exec(text)?.[1] ?? text;
}
