import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** The machines of the cluster: each is a network namespace. The harness, the receiver and the load balancer are beside them. */
export const ADDRESSES = {
  ...{ host1: '10.0.0.1', host2: '10.0.0.2' },
  ...{ postgres1: '10.0.0.11', postgres2: '10.0.0.12' },
} as const;
export type Place = keyof typeof ADDRESSES;
export const HARNESS = '10.0.0.254';
/** The address of the Postgres primary, which moves to the replica. */
export const PRIMARY = '10.0.0.10';

export const CUTS = {
  'both ways': ['input', 'output'],
  'nothing reaches it': ['input'],
  'nothing leaves it': ['output'],
} as const;
export type Cut = keyof typeof CUTS;

/** Slower than what a host needs, so that packets wait for seconds. */
const SLOW = ['rate', '700kbit', 'burst', '16kb', 'latency', '2s'];

const run = (command: string, input = ''): void => {
  const [program, ...args] = command.split(' ');
  execFileSync(program!, args, { input, stdio: ['pipe', 'ignore', 'inherit'] });
};

/** The start of a command that runs on this machine. */
export const on = (place: Place): string[] => ['nsenter', `--net=/run/netns/${place}`, '--'];

/** Connects the machines to a bridge. The namespace of this process has no other network: see cluster.ts. */
export function openNetwork(): void {
  run('mount -t tmpfs tmpfs /run');
  mkdirSync('/run/netns');
  run('ip link set lo up');
  run('ip link add hub type bridge');
  run(`ip address add ${HARNESS}/24 dev hub`);
  run('ip link set hub up');
  for (const [place, address] of Object.entries(ADDRESSES)) {
    run(`ip netns add ${place}`);
    run(`ip link add to-${place} type veth peer name eth0 netns ${place}`);
    run(`ip link set to-${place} master hub up`);
    run(`ip -n ${place} address add ${address}/24 dev eth0`);
    for (const device of ['lo', 'eth0']) run(`ip -n ${place} link set ${device} up`);
  }
}

/** Drops the packets of a machine without a word. */
export function cut(place: Place, how: Cut): void {
  const chains = CUTS[how].map((hook) => {
    const [direction] = hook.split('put');
    return `chain ${hook} {\n type filter hook ${hook} priority 0\n ${direction === 'in' ? 'iif' : 'oif'} != lo drop\n }\n`;
  });
  run([...on(place), 'nft -f -'].join(' '), `table inet cut {\n${chains.join('')}}\n`);
}

/** Drops all that one of the machines sends to the other. */
export function separate(place: Place, other: Place): void {
  const chain = `chain output {\n type filter hook output priority 0\n ip daddr ${ADDRESSES[other]} drop\n }\n`;
  run([...on(place), 'nft -f -'].join(' '), `table inet cut {\n${chain}}\n`);
}

export function reconnect(place: Place): void {
  run([...on(place), 'nft flush ruleset'].join(' '));
}

export function slowDown(place: Place): void {
  run(`tc qdisc add dev to-${place} root tbf ${SLOW.join(' ')}`);
  run([...on(place), `tc qdisc add dev eth0 root tbf ${SLOW.join(' ')}`].join(' '));
}

export function speedUp(place: Place): void {
  run(`tc qdisc del dev to-${place} root`);
  run([...on(place), 'tc qdisc del dev eth0 root'].join(' '));
}

/** Moves the primary's address, as a cluster manager or a managed Postgres does. */
export function movePrimary(to: Place, from?: Place): void {
  if (from) run(`ip -n ${from} address del ${PRIMARY}/24 dev eth0`);
  run(`ip -n ${to} address add ${PRIMARY}/24 dev eth0`);
  // What a gratuitous ARP does.
  run('ip neigh flush all');
  for (const place of Object.keys(ADDRESSES)) run(`ip -n ${place} neigh flush all`);
}
