import type { Capabilities, ProjectId, StageId } from '@callboard/contract';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { client } from '../lib/api.ts';

type Of = { stageId?: StageId; projectId?: ProjectId };

/** What Claude Code offers a stage, or a new stage of a project, as it said when it was last started. */
const capabilitiesQuery = (of: Of) =>
  queryOptions({
    queryKey: ['capabilities', of],
    queryFn: ({ signal }) => client.command('get_capabilities', of, { signal }),
  });

/** Null before the first start, and until it is known. */
export function useCapabilities(of: Of): Capabilities | null {
  const { data } = useQuery(capabilitiesQuery(of));
  return data?.capabilities ?? null;
}
