import { chmod, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Api } from './api.ts';
import { createApp } from './app.ts';
import { EventHub } from './hub.ts';
import { Latency } from './latency.ts';
import { bracketed, closeServers, createServer, hostNames, listen } from './listener.ts';
import { PageFiles } from './page-files.ts';
import { Pairings } from './pairings.ts';
import { SignInCodes } from './sign-in.ts';

export interface ApiServer {
  close(): Promise<void>;
}

export interface ServeOptions {
  /** A socket that only the owner can open, which authenticates the owner. */
  readonly socketPath: string;
  readonly bind: { readonly host: string; readonly port: number } | null;
  /** The address that people use, if a proxy forwards it to `bind`. */
  readonly publicUrl: string | null;
  /** Foreign origins whose pages may use the API, with a token. */
  readonly origins: readonly string[];
  readonly token: string;
  /** Called with the TCP address before the socket is opened. */
  readonly onAddress: (url: string) => void;
}

/** Serves the API to the owner on the socket, and to token holders on TCP. */
export async function serveApi(api: Api, options: ServeOptions): Promise<ApiServer> {
  const hub = await EventHub.open(api.store);
  const { token } = options;
  const publicUrl = options.publicUrl === null ? null : new URL(options.publicUrl);
  let url: string | null = null;
  const address = () => options.publicUrl ?? url;
  const site = {
    hub,
    files: new PageFiles(),
    codes: new SignInCodes(api.clock),
    pairings: new Pairings(api.clock),
    latency: new Latency(),
    address,
  };
  const servers: Server[] = [];
  const close = (): Promise<void> => {
    hub.close();
    return closeServers(servers);
  };

  if (options.bind) {
    const { host } = options.bind;
    const port = () => (tcp.address() as AddressInfo).port;
    let names: readonly string[] | undefined;
    const hosts = () => (names ??= hostNames(host, port()));
    const tcp = createServer(createApp(api, site, { kind: 'tcp', hosts, token, publicUrl, origins: options.origins }));
    await listen(tcp, options.bind).catch(async (error: unknown) => {
      await close();
      throw error;
    });
    servers.push(tcp);
    url = `http://${bracketed(host)}:${port()}`;
    options.onAddress(url);
  }

  // The socket opens last: a client that asks for the status there gets the TCP address.
  const local = createServer(createApp(api, site, { kind: 'trusted', hosts: () => [], token }));
  // The caller holds the home's lock, so an existing socket belongs to a dead daemon.
  await rm(options.socketPath, { force: true });
  await listen(local, { path: options.socketPath }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  await chmod(options.socketPath, 0o600);
  servers.push(local);
  return { close };
}
