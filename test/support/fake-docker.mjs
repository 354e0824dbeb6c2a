import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

// Plays `docker` for deploy/roll-out.sh. The file FAKE_DOCKER has its containers, as JSON:
// { release, containers: [{ id, service, release, isRunning }], interruptStop }.

const state = JSON.parse(readFileSync(process.env.FAKE_DOCKER, 'utf8'));
const words = process.argv.slice(2);
const name = words[0] === 'compose' ? words.splice(0, 2).join(' ') : words.shift();
const service = words.at(-1);
const isNamed = ({ id }) => words.includes(id);

const COMMANDS = {
  'compose build': () => (state.release = 'new'),
  'compose run': () => undefined,
  'compose rm': () => (state.containers = state.containers.filter((one) => one.service !== service || one.isRunning)),
  'compose ps': () => {
    const listed = state.containers.filter((one) => one.service === service);
    for (const { id, isRunning } of listed) if (isRunning || words.includes('--all')) console.log(id);
  },
  /** Like Compose, it starts stopped containers before it creates new ones. */
  'compose up': () => {
    const wanted = Number(words[words.indexOf('--scale') + 1].split('=')[1]);
    const existing = state.containers.filter((one) => one.service === service);
    for (const one of existing) one.isRunning = true;
    for (let number = existing.length; number < wanted; number++) {
      state.containers.push({ id: randomUUID(), service, release: state.release, isRunning: true });
    }
  },
  stop: () => {
    for (const one of state.containers.filter(isNamed)) one.isRunning = false;
    if (!state.interruptStop) return;
    state.interruptStop = false;
    process.kill(process.ppid, 'SIGTERM');
  },
  rm: () => (state.containers = state.containers.filter((one) => !isNamed(one))),
};

COMMANDS[name]();
writeFileSync(process.env.FAKE_DOCKER, JSON.stringify(state));
