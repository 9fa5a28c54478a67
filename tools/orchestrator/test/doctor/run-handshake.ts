// Runs a handshake, to be killed in the middle of it.
import { runHandshake } from '../../src/doctor/doctor.ts';

const [claude = ''] = process.argv.slice(2);
const { signal } = new AbortController();
await runHandshake({ claude, version: '0.0.0', path: process.env.PATH, signal });
