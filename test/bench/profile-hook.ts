import { existsSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import path from 'node:path';
import { threadId } from 'node:worker_threads';

/*
 * Preloaded into a process and all its threads by `--require`. Records a CPU profile between the moments at which the
 * files `start` and `stop` appear in PROFILE_DIR, and writes it there. `--cpu-prof` would also profile the start of the
 * process, and loses threads that are terminated.
 */
const POLL_MS = 100;
const SAMPLING_MICROSECONDS = 500;
const folder = process.env.PROFILE_DIR!;
const name = process.env.PROFILE_NAME!;
const session = new Session();
let recording = false;

const timer = setInterval(() => {
  if (!recording && existsSync(path.join(folder, 'start'))) {
    recording = true;
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROSECONDS });
    session.post('Profiler.start');
  }
  if (recording && existsSync(path.join(folder, 'stop'))) {
    clearInterval(timer);
    session.post('Profiler.stop', (error, result) => {
      if (error) throw error;
      writeFileSync(path.join(folder, `${name}-thread-${threadId}.cpuprofile`), JSON.stringify(result.profile));
    });
  }
}, POLL_MS);
timer.unref();
