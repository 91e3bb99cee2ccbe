import type { Words } from '.'

const words: Words = {
  app: {
    name: 'NanoClaw',
    skip: '跳到正文',
    menu: '菜单',
    close: '关闭',
    loading: '正在加载…',
    retry: '重试',
    copy: '复制',
    copied: '已复制',
    cancel: '取消',
    delete: '删除',
    save: '保存',
    more: '显示更多',
    trace: '追踪',
    theme: '外观',
    themeLight: '浅色',
    themeDark: '深色',
    themeSystem: '跟随系统',
    language: '语言',
    commands: '命令',
    commandsHint: '输入以查找页面、会话或操作',
    nothingFound: '没有找到',
  },
  nav: { chat: '对话', crawls: '抓取', tools: '工具', files: '文件', usage: '用量', tokens: '令牌', newChat: '新会话', trace: '追踪', models: '模型' },
  problem: {
    unreachable: '服务器没有响应。',
    unreachableHint: '你写的内容已保留，本页会自动重试。',
    unauthorized: '此浏览器尚未登录。',
    unauthorizedHint: '请打开 “nanoclaw serve” 启动时打印的带令牌的地址。',
    notFound: '未找到',
    notFoundHint: '它已被删除，或者属于其他人。',
    trace: '追踪 {id}',
  },
}

export default words
