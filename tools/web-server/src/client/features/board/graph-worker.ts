import type { StageGraph } from './graph-model.ts';
import { layOutGraph } from './lay-out-graph.ts';

// Hundreds of stages take a second to lay out: the page must not wait for it.
addEventListener('message', ({ data }: MessageEvent<{ graph: StageGraph; aspect: number }>) =>
  postMessage(layOutGraph(data.graph, data.aspect)),
);
