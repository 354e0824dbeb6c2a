import { proxyActivities } from '@temporalio/workflow';
import type { NoticeActivities } from '../activities/notice-activities';

const { tellSeller } = proxyActivities<NoticeActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

/** Tells a seller's contact what is due about an endpoint, once: its ID names the endpoint. */
export async function endpointNoticeWorkflow(endpoint: Parameters<typeof tellSeller>[0]): Promise<void> {
  await tellSeller(endpoint);
}
