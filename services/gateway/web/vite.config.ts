import { gzipSync } from 'node:zlib'
import { fileURLToPath, URL } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import vue from '@vitejs/plugin-vue'
import { defineConfig, type Plugin } from 'vite'

// packed puts a .gz beside every file that is worth it; the gateway sends it as
// it is.
function packed(): Plugin {
  return {
    name: 'packed',
    apply: 'build',
    generateBundle: {
      order: 'post', // others still write into the files
      handler(_, bundle) {
        for (const [name, file] of Object.entries(bundle)) {
          if (!/\.(js|css|svg|html)$/.test(name)) continue
          const source = file.type === 'chunk' ? file.code : file.source
          const small = gzipSync(source, { level: 9 })
          if (small.length < source.length * 0.9) this.emitFile({ type: 'asset', fileName: name + '.gz', source: small })
        }
      },
    },
  }
}

export default defineConfig({
  plugins: [vue(), tailwindcss(), packed()],
  // Parts of the libraries that the app does without.
  define: {
    __VUE_OPTIONS_API__: 'false',
    __VUE_I18N_FULL_INSTALL__: 'false',
    __VUE_I18N_LEGACY_API__: 'false',
    __INTLIFY_PROD_DEVTOOLS__: 'false',
  },
  resolve: {
    alias: {
      '@': fileURLToPath(new URL('src', import.meta.url)),
      '@gen': fileURLToPath(new URL('../../../gen/ts', import.meta.url)),
    },
  },
  build: {
    outDir: '../internal/webui/dist',
    emptyOutDir: true,
    target: 'es2022',
    // The policy of the page forbids what is inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Diagrams come with a layout engine of 1.5 MB, loaded with the first of them.
    chunkSizeWarningLimit: 1600,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:3000', '/docs': 'http://127.0.0.1:3000' } },
})
