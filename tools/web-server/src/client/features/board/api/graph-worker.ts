import { layOutGraph } from '../model/lay-out-graph.ts';
import type { StageGraph } from '../model/stage-graph.ts';

// Hundreds of stages take a second to lay out: the page must not wait for it.
addEventListener('message', ({ data }: MessageEvent<{ graph: StageGraph; aspect: number }>) =>
  postMessage(layOutGraph(data.graph, data.aspect)),
);
