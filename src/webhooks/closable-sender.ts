/** Makes a sender of a function that makes one attempt. Closing it waits for the running attempts. */
export function closableSender<Request, Attempt>(attempt: (request: Request) => Promise<Attempt>) {
  const running = new Set<Promise<Attempt>>();
  let isClosed = false;
  return {
    send: async (request: Request): Promise<Attempt> => {
      if (isClosed) throw new Error('the webhook sender is closed');
      const sending = attempt(request);
      running.add(sending);
      try {
        return await sending;
      } finally {
        running.delete(sending);
      }
    },
    close: async (): Promise<void> => {
      isClosed = true;
      await Promise.allSettled(running);
    },
  };
}
