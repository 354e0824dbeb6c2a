import { runWithServers } from './servers';
import { startService } from './service';

/** `npm start`: the whole service on this machine, with a real Postgres and a real Temporal, until Ctrl-C. */
void runWithServers(startService);
