/*
 * Preloaded into a worker (`node --require`): its workflow code has a mistake, like that of a bad deployment. It cannot
 * continue the first run of the orders in CHAOS_ORDERS. A run that resumes one of them reads the row, and has no state
 * in its input.
 */
import promises from 'node:fs/promises';

const orderIds = JSON.parse(process.env.CHAOS_ORDERS ?? '[]') as string[];
const FIRST_LINE = 'async function orderWorkflow({ orderId, state }) {';
const MISTAKE = `if (state && ${JSON.stringify(orderIds)}.includes(orderId)) throw new TypeError('chaos');`;

const { readFile } = promises as { readFile: (...args: unknown[]) => Promise<unknown> };

Object.assign(promises, {
  async readFile(...args: unknown[]) {
    const content = await readFile(...args);
    if (!String(args[0]).endsWith('order-workflows.js')) return content;
    const wrong = String(content).replace(FIRST_LINE, (line) => line + MISTAKE);
    if (wrong === content) throw new Error('the workflow code has another first line');
    return wrong;
  },
});
