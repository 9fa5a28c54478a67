import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client } from '../../../lib/api-client.ts';

/** No event says that a number has changed. */
const AGAIN_MS = 5 * 60_000;

/** What happened in the last days, as days of this browser's time zone. */
export const numbersQuery = (days: number) =>
  queryOptions({
    queryKey: ['numbers', days],
    queryFn: ({ signal }) => {
      const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
      return client.command('get_numbers', { days, timeZone }, { signal });
    },
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: AGAIN_MS,
  });
