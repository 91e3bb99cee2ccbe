package classify

import "regexp"

// verifying are headings of pages that make sure of a human.
var verifying = []string{
	"just a moment", "attention required", "checking your browser", "verifying your request",
	"verify you are human", "verify that you are not a robot", "are you not a robot", "are you a robot",
	"making sure you're not a bot", "security check", "access denied", "pow captcha", "robot check", "human verification", "вы не робот",
	"安全验证", "百度安全验证", "人机验证", "访问验证",
}

// refused are headings that are nothing but a status, on pages with status 200.
var refused = regexp.MustCompile(`^(?:error )?(?:403|429)(?:[ \-–—:|(]*(?:error|forbidden|access forbidden|access denied|too many requests))*[ .!()]*1?$|` +
	`^(?:forbidden|access forbidden|too many requests)[ .!]*$`)

// suspecting are words with which pages turn robots away or make sure of a
// human.
var suspecting = []string{
	"automated queries", "automated requests", "unusual traffic", "unusual activity from", "suspicious traffic", "suspicious activity from",
	"verify you are human", "verify that you are human", "verify you are a human", "confirm you are human", "confirm you're human", "confirm that you are human",
	"confirm you are a human", "confirm you're a human", "prove you are human", "prove that you are human", "that you and not a robot", "i'm not a robot", "i am not a robot",
	"you are not a robot", "you're not a robot", "you are not a bot", "you're not a bot",
	"complete the captcha", "solve the captcha", "enter the captcha", "verification code below", "your ip address has been blocked", "your ip has been blocked",
	"you have been blocked",
	"ungewöhnlichen datenverkehr", "automatisierte anfragen", "kein roboter", "trafic exceptionnel", "requêtes automatisées", "pas un robot",
	"tráfico inusual", "no eres un robot", "no soy un robot", "tráfego incomum", "traffico insolito", "а не робот", "похожи на автоматические", "подозрительный трафик",
	"通常と異なるトラフィック", "ロボットではありません", "로봇이 아닙니다", "자동입력 방지", "비정상적인 검색", "비정상적인 접근",
	"输入验证码", "異常流量", "异常流量", "访问异常", "异常访问", "访问过于频繁", "访问频率", "请求过于频繁", "操作过于频繁", "自动程序", "人机验证", "安全验证", "拖动滑块",
}

// continuing are headings of consent pages.
var continuing = []string{
	"before you continue", "bevor sie", "avant de continuer", "avant d'accéder", "antes de continuar", "antes de ir", "prima di continuare",
	"voordat je verdergaat", "zanim przejdziesz", "innan du fortsätter", "在您继续", "继续之前", "继续前往", "繼續前", "続行する前に", "прежде чем",
}

// enabling are what pages say of scripts that they lack.
var enabling = []string{
	"enable", "require", "turn on", "disabled", "turned off", "needed", "needs", "aktiv", "activ", "habilit", "включ", "启用", "开启", "啟用", "有効",
}
