import { isGrpcServiceError } from '@temporalio/client';
import { status } from '@grpc/grpc-js';

/** The gRPC error of a failed call to Temporal, which the SDK wraps in some calls. */
export function grpcErrorOf(error: unknown): { code: number; details: string } | undefined {
  const cause = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  return isGrpcServiceError(cause) ? cause : undefined;
}

/** True if Temporal did not answer in time. */
export function isTimeout(error: unknown): boolean {
  return grpcErrorOf(error)?.code === status.DEADLINE_EXCEEDED;
}
