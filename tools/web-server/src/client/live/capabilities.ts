import { type Capabilities, CapabilitiesReply, type ProjectId, type StageId } from '@callboard/contract';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { call } from '../lib/api.ts';

type Of = { stageId?: StageId; projectId?: ProjectId };

/** What Claude Code offers a stage, or a new stage of a project, as it said when it was last started. */
const capabilitiesQuery = (of: Of) =>
  queryOptions({
    queryKey: ['capabilities', of],
    queryFn: ({ signal }) => call(`/api/capabilities?${new URLSearchParams(of)}`, { reply: CapabilitiesReply, signal }),
  });

/** Null before the first start, and until it is known. */
export function useCapabilities(of: Of): Capabilities | null {
  const { data } = useQuery(capabilitiesQuery(of));
  return data?.capabilities ?? null;
}
