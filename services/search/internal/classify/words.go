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
	"essere un robot", "é um robô", "é um robot", "geen robot", "jesteś robotem", "nejste robot", "nie ste robot", "ikke er en robot", "inte är en robot", "ikke er en bot",
	"et ole robotti", "δεν είστε ρομπότ", "що ви не робот", "robot olmadığınız", "olağan dışı trafik", "لست روبوت", "אינך רובוט", "phải là người máy", "phải là robot",
	"bukan robot", "ไม่ใช่หุ่นยนต์", "不是机器人", "不是機器人", "ロボットでない", "请求被拦截", "驗證碼",
	"输入验证码", "異常流量", "异常流量", "访问异常", "异常访问", "访问过于频繁", "访问频率", "请求过于频繁", "操作过于频繁", "自动程序", "人机验证", "安全验证", "拖动滑块",
}

// continuing are headings of consent pages.
var continuing = []string{
	"before you continue", "bevor sie", "avant de continuer", "avant d'accéder", "antes de continuar", "antes de ir", "prima di continuare",
	"voordat je verdergaat", "zanim przejdziesz", "innan du fortsätter", "在您继续", "继续之前", "继续前往", "繼續前", "続行する前に", "прежде чем",
}

// enabling are what pages say of scripts that they lack.
var enabling = []string{
	"enable", "require", "turn on", "disabled", "turned off", "needed", "needs", "aktiv", "activ", "habilit", "включ", "włącz", "abilita", "schakel", "povol", "etkinleştir", "تفعيل", "הפעל", "bật", "เปิดใช้งาน", "활성화", "увімкн", "启用", "开启", "啟用", "有効",
}

// failing are words with which a page says that results could not be had, or that
// it keeps them back. Hints at other spellings and words are none.
var failing = []string{
	"went wrong", "error occurred", "was an error", "was a problem", "error persists", "try again later", "please try again.", "not load", "n't load", "not be loaded",
	"n't be loaded", "unable to load", "failed to load", "refresh the page", "reload the page", "reload this page", "temporarily unavailable", "was blocked", "been blocked",
	"safesearch", "safe search", "adult content", "local law",
	"fehler aufgetreten", "schiefgelaufen", "schief gelaufen", "später erneut", "später noch einmal", "nicht geladen", "jugendfrei",
	"erreur s'est produite", "est survenue", "veuillez réessayer", "plus tard", "pour adultes", "aux adultes",
	"ocurrido un error", "ocurrió un error", "salió mal", "ido mal", "más tarde", "para adultos", "ocorreu um erro", "deu errado", "mais tarde",
	"verificato un errore", "andato storto", "più tardi", "per adulti", "een fout opgetreden", "misgegaan", "later opnieuw", "wystąpił błąd", "poszło nie tak", "później",
	"произошла ошибка", "пошло не так", "позже", "повторите попытку", "hata oluştu", "daha sonra",
	"エラーが発生", "問題が発生", "後でもう一度", "セーフサーチ", "오류가 발생", "문제가 발생", "나중에 다시", "세이프서치",
	"出错了", "出現錯誤", "出现错误", "发生错误", "發生錯誤", "出了点问题", "出了點問題", "稍后重试", "稍后再试", "稍後再試", "稍後重試", "网络不给力", "网络异常",
	"加载失败", "載入失敗", "系统繁忙", "安全搜索", "安全搜尋", "成人内容", "成人內容", "法律法规",
}
