import { isGrpcServiceError } from '@temporalio/client';

/** The gRPC error of a failed call to Temporal, which the SDK wraps in some calls. */
export function grpcErrorOf(error: unknown): { code: number; details: string } | undefined {
  const cause = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  return isGrpcServiceError(cause) ? cause : undefined;
}
