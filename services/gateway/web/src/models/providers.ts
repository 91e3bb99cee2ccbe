/** Provider is an example of a server of models. */
export interface Provider {
  id: string
  name: string
  config: string
  /** The environment variable that the configuration names; none for a local one. */
  key?: string
}

const remote = (id: string, name: string, url: string, model: string, key: string): Provider => ({
  id,
  name,
  key,
  config: `models:\n  - id: ${id}\n    name: ${name}\n    model: ${model}\n    api_url: ${url}\n    api_key: \${${key}}\ndefault_model: ${id}\n`,
})

/** providers are the examples; any other server with the same protocol is set up
 * in the same way. */
export const providers: Provider[] = [
  remote('glm', 'GLM', 'https://open.bigmodel.cn/api/paas/v4', 'glm-5', 'GLM_API_KEY'),
  remote('deepseek', 'DeepSeek', 'https://api.deepseek.com', 'deepseek-chat', 'DEEPSEEK_API_KEY'),
  remote('openai', 'OpenAI', 'https://api.openai.com/v1', 'gpt-5.1', 'OPENAI_API_KEY'),
  {
    id: 'ollama',
    name: 'Ollama',
    config: 'models:\n  - id: local\n    name: Ollama\n    model: qwen3\n    api_url: http://127.0.0.1:11434\ndefault_model: local\n',
  },
]
