/** A queue in which the owners of items take turns, so that one with many items does not hold up the others. */
export class FairQueue<T, Owner = string> {
  private readonly owners = new Map<Owner, T[]>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  push(owner: Owner, item: T): void {
    const items = this.owners.get(owner);
    if (items) items.push(item);
    else this.owners.set(owner, [item]);
    this.count += 1;
  }

  /** Removes the first item of the owner whose turn it is. */
  shift(): T | undefined {
    const [first] = this.owners;
    if (!first) return undefined;
    const [owner, items] = first;
    const item = items.shift();
    this.count -= 1;
    this.owners.delete(owner);
    // To the end of the queue.
    if (items.length > 0) this.owners.set(owner, items);
    return item;
  }
}
