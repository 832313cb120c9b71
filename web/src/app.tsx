import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Entrance } from './frame/entrance.tsx';
import { KeysHelp } from './frame/keys-help.tsx';
import { LostBanner } from './frame/live-mark.tsx';
import { NewChannel } from './frame/new-channel.tsx';
import { Palette } from './frame/palette.tsx';
import { PLACES } from './frame/places.ts';
import { Search } from './frame/search.tsx';
import { Sidebar } from './frame/sidebar.tsx';
import { TabBar } from './frame/tabbar.tsx';
import { PAGES } from './pages/pages.ts';
import { Talk } from './pages/talk/talk.tsx';
import { lazy } from './parts/lazy.tsx';
import { startAgents } from './state/agents.ts';
import { startChannels } from './state/channels.ts';
import { addShortcuts } from './state/keys.ts';
import { goLive } from './state/live.ts';
import { startNeeds } from './state/needs.ts';
import { startPeople } from './state/people.ts';
import { startRooms } from './state/rooms.ts';
import { go, route } from './state/route.ts';
import { entry, isOwner, refreshSession, takeCode } from './state/session.ts';
import { startTalks } from './state/talks.ts';
import { flipContrast, flipTheme } from './state/theme.ts';
import { startTurns } from './state/turns.ts';
import { startWaits } from './state/waits.ts';

takeCode();

const PairPhone = lazy(async () => (await import('./frame/pair-phone.tsx')).PairPhone);

export function App() {
  const at = entry.value;
  return at.kind === 'signed-in' ? <Frame /> : <Entrance at={at} />;
}

function Frame() {
  const opened = useSignal<Opened | null>(null);
  const menu = useSignal(false);
  useEffect(() => {
    // Listeners before the stream: the first "live" makes them read.
    const stops = [
      startChannels(),
      startAgents(),
      startPeople(),
      startRooms(),
      startNeeds(),
      startTurns(),
      startWaits(),
      startTalks(),
      shortcuts((what) => (opened.value = what)),
      goLive(),
    ];
    void refreshSession().catch(() => {});
    return () => {
      for (const stop of stops) stop();
    };
  }, []);
  const [page = 'talk'] = route.value;
  useEffect(() => {
    menu.value = false;
    document.title = `${PLACES.find((place) => place.page === page)?.name ?? 'Substrat'} · Substrat`;
  }, [route.value]);
  const close = (): void => {
    opened.value = null;
  };
  const Page = PAGES[page] ?? Talk;
  return (
    <div class="app">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the page
      </button>
      <Sidebar open={menu.value} onNewChannel={() => (opened.value = 'channel')} />
      <main class="main" id="main" tabIndex={-1}>
        <LostBanner />
        <Page key={page} />
      </main>
      <TabBar open={menu.value} onMore={() => (menu.value = !menu.value)} />
      {opened.value === 'palette' && <Palette onClose={close} />}
      {opened.value === 'search' && <Search onClose={close} />}
      {opened.value === 'phone' && <PairPhone onClose={close} />}
      {opened.value === 'keys' && <KeysHelp onClose={close} />}
      {opened.value === 'channel' && <NewChannel onClose={close} />}
    </div>
  );
}

type Opened = 'phone' | 'palette' | 'search' | 'keys' | 'channel';

function shortcuts(open: (what: Opened) => void): () => void {
  return addShortcuts([
    { keys: 'mod+k', what: 'Go to anything', run: () => open('palette') },
    { keys: 'mod+f', what: 'Search all messages', run: () => open('search') },
    { keys: '?', what: 'Show all keys', run: () => open('keys') },
    { keys: 'P', what: 'Pair a phone', run: () => open('phone') },
    { keys: 'T', what: 'Change the theme', run: flipTheme },
    { keys: 'C', what: 'More or less contrast', run: flipContrast },
    ...PLACES.filter(({ owner }) => !owner || isOwner.value).map(({ page, name, key }) => ({
      keys: `g ${key}`,
      what: `Open ${name}`,
      run: () => go(page),
    })),
  ]);
}
