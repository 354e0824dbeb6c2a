/*
 * Preloaded into a process of the service (`node --require`): its clock is wrong by CHAOS_CLOCK_SHIFT_MS. Durations stay
 * right, as on a machine whose clock was set wrongly.
 */
const shiftMs = Number(process.env.CHAOS_CLOCK_SHIFT_MS);
const RealDate = Date;
const now = (): number => RealDate.now() + shiftMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length > 0 ? args : [now()], newTarget) as Date,
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown)),
});
