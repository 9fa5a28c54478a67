import { doctorFlags, parseDoctorOptions } from '../doctor/doctor-options.ts';
import type { Command } from './command.ts';

/** `callboard doctor`: checks what Callboard needs on this machine, and tries out the installed `claude`. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'Checks this machine, tries out the installed claude, and says what to do.',
  flags: doctorFlags,
  run: async ({ given, platform }) => {
    const options = parseDoctorOptions(given, platform);
    const { runDoctor } = await import('../doctor/run-doctor.ts'); // loaded here because no other command needs it
    const signals = platform.listenForStop();
    try {
      const { ok } = await runDoctor(options, platform, signals.stop);
      return ok ? 0 : 1;
    } catch (error) {
      if (!signals.stop.aborted) throw error;
      platform.err('callboard: stopped before all checks were done.');
      return 1;
    } finally {
      signals.release();
    }
  },
};
