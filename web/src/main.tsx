import './styles/tokens.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/parts.css';
import './styles/talk.css';
import './styles/composer.css';
import './styles/pages.css';
import './styles/needs-me.css';
import './styles/team.css';
import './styles/runs.css';
import './styles/library.css';
import './styles/workspaces.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme } from './state/theme.ts';

applyTheme();
const root = document.getElementById('root');
if (root) render(<App />, root);
