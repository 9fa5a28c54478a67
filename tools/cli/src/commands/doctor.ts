import { doctorFlags, parseDoctorOptions } from '../doctor/doctor-options.ts';
import type { Command } from './command.ts';

/** `callboard doctor`: checks what Callboard needs on this machine, and tries out the installed `claude`. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'Checks this machine, tries out the installed claude, and says what to do.',
  flags: doctorFlags,
  run: async ({ given, edges }) => {
    const options = parseDoctorOptions(given, edges);
    const { runDoctor } = await import('../doctor/run-doctor.ts'); // loaded here because no other command needs it
    const signals = edges.listenForStop();
    try {
      const { ok } = await runDoctor(options, edges, signals.stop);
      return ok ? 0 : 1;
    } catch (error) {
      if (!signals.stop.aborted) throw error;
      edges.err('callboard: stopped before all checks were done.');
      return 1;
    } finally {
      signals.release();
    }
  },
};
