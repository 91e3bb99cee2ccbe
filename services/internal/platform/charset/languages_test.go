package charset

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// languages are texts of about 200 characters and more in the encodings that
// pages without a declaration are in.
var languages = []struct{ name, encodings, text string }{
	{"Japanese news", "shift_jis euc-jp iso-2022-jp", "気象庁は三日午前、関東地方が梅雨入りしたとみられると発表した。平年より四日早く、昨年より一週間ほど遅い。向こう一週間は曇りや雨の日が多くなる見込みで、同庁は大雨による土砂災害や低い土地の浸水に注意するよう呼びかけている。都心では朝から傘を差して通勤する人の姿が目立った。駅前の商店街では、雨具を店頭に並べる店が相次ぎ、店主の一人は「今年は暑くなりそうなので、早めに準備した」と話した。農家からは恵みの雨を期待する声も聞かれた。"},
	{"Japanese of loan words", "shift_jis euc-jp iso-2022-jp", "サーバーのメモリーを増設した後は、必ずシステムをリブートしてください。リブートしない場合、アプリケーションがクラッシュする可能性があります。ドライバーのバージョンは、コントロールパネルのデバイスマネージャーからチェックできます。ネットワークケーブルとルーターの接続もあわせてチェックし、インターネットにアクセスできるかブラウザーでテストしてください。トラブルが続くときは、サポートセンターへメールでレポートを送ってください。ファームウェアのアップデートも忘れずに。"},
	{"a Japanese tale", "shift_jis euc-jp", "むかしむかし、あるところに、おじいさんとおばあさんがすんでいました。おじいさんはやまへしばかりに、おばあさんはかわへせんたくにいきました。おばあさんがかわでせんたくをしていると、おおきなももがどんぶらこ、どんぶらことながれてきました。おばあさんはそのももをひろいあげて、いえにもちかえりました。おじいさんがももをきってみると、なんとなかからげんきなおとこのこがとびだしてきました。ふたりはそのこにももたろうとなまえをつけました。"},
	{"Japanese in half width", "shift_jis euc-jp", "ｺﾝﾋﾟｭｰﾀの設定ﾌｧｲﾙを開き、ﾕｰｻﾞ名とﾊﾟｽﾜｰﾄﾞを入力します。次にﾒﾆｭｰから「保存」を選び、ﾀﾞｲｱﾛｸﾞのOKﾎﾞﾀﾝを押してください。ｴﾗｰが出たときは、ﾈｯﾄﾜｰｸの接続を確かめてから、もう一度ﾛｸﾞｲﾝしてください。ﾊﾟｽﾜｰﾄﾞは大文字と小文字を区別します。忘れたときは管理者へ電話かﾒｰﾙで連絡してください。ﾌﾟﾘﾝﾀの用紙が切れたときはﾄﾚｲを開けて補充し、ﾘｾｯﾄﾎﾞﾀﾝを三秒押してください。詳しくはﾏﾆｭｱﾙを見てください。"},
	{"Chinese news", "gbk gb18030", "昨天下午，市图书馆举行了新馆开放仪式，几百名读者前来参观。新馆共有五层，藏书超过八十万册，还设有儿童阅览室、多媒体教室和咖啡厅。馆长介绍说，读者只要用身份证就能办理借书证，每次最多可以借十本书，期限是一个月。周末开放时间延长到晚上九点，欢迎大家常来看书、学习和交流。不少家长带着孩子在绘本区坐了一下午，孩子们看得津津有味，都说下个星期还要再来。志愿者也在现场帮助老人使用自助借还机，教他们怎样查找想看的书。"},
	{"Chinese instructions", "gb18030", "安装之前请先备份数据库。下载最新版本的安装包，解压到服务器目录，然后修改配置文件中的端口和密码。启动服务后，用浏览器访问管理页面，如果看到登录界面，就说明安装成功。升级时不要直接覆盖旧文件，否则可能丢失用户的上传内容。遇到错误时先查看日志，根据提示检查网络、权限和磁盘空间。常见问题的答案都写在帮助文档里，仍然无法解决的可以在论坛发帖，并附上系统版本和完整的错误信息，管理员会在工作日回复。"},
	{"Chinese of Taiwan", "big5", "昨天下午，市立圖書館舉行了新館啟用典禮，數百位讀者前來參觀。新館共有五層樓，館藏超過八十萬冊，並設有兒童閱覽室、多媒體教室和咖啡廳。館長表示，讀者只要帶身分證就可以辦理借書證，每次最多能借十本書，期限一個月。週末開放時間延長到晚上九點，歡迎大家常來看書、學習與交流。許多家長帶著孩子在繪本區坐了一整個下午，孩子們看得津津有味，都說下個星期還要再來。志工也在現場協助長輩使用自助借還書機，教他們怎樣查詢想看的書。"},
	{"Chinese of Hong Kong", "big5", "港鐵昨日宣布，因應颱風吹襲，部分路線的班次將會調整，乘客應預留較多時間出門。天文台表示，今晚可能改發八號風球，市民應檢查門窗，並避免前往海邊。教育局指全日制學校今日下午停課，學生可在家長陪同下離開。超級市場出現人龍，不少市民趕忙購買麵包、蔬菜和食水。渡輪公司亦表示會視乎天氣情況，隨時停止往來離島的服務，詳情請留意公司網頁及電台廣播。機場管理局則提醒旅客，出發前先向航空公司查詢航班的最新消息。"},
	{"Korean", "euc-kr", "어제 오후 시립 도서관이 새 건물에서 문을 열었다. 개관식에는 수백 명의 시민이 모여 새로운 시설을 둘러보았다. 도서관은 모두 다섯 층으로 이루어져 있으며, 책이 팔십만 권이 넘고 어린이 열람실과 멀티미디어 교실, 커피숍도 마련되어 있다. 관장은 신분증만 있으면 누구나 회원증을 만들 수 있고 한 번에 열 권까지 한 달 동안 빌릴 수 있다고 말했다. 주말에는 밤 아홉 시까지 문을 연다. 부모와 함께 온 아이들은 그림책을 읽으며 즐거운 시간을 보냈다."},
	{"Korean with rare syllables", "euc-kr", "똠방각하와 햏자가 만났다. 서울의 펲시 광고는 뷁이라는 노래와 함께 유행했다. 인터넷 게시판에서는 됬다와 됐다를 두고 사람들이 다투었고, 어떤 이는 쩝쩝거리며 밥을 먹었다. 프로그램을 설치하려면 먼저 압축을 풀고 설정 파일을 고쳐야 합니다. 오류가 나면 기록을 확인하고 네트워크와 권한을 살펴보세요. 자주 묻는 질문은 도움말에 있으니 먼저 읽어 주시고, 그래도 해결되지 않으면 게시판에 글을 남겨 주세요. 관리자가 답변을 드리겠습니다."},
	{"Russian", "windows-1251 koi8-r iso-8859-5 ibm866", "Вчера днём городская библиотека открыла новое здание, и посмотреть на него пришли сотни горожан. В нём пять этажей, больше восьмисот тысяч книг, детский читальный зал, класс с компьютерами и небольшое кафе. Директор рассказал, что записаться можно по паспорту, а за один раз разрешается взять до десяти книг на месяц. По выходным библиотека будет работать до девяти вечера."},
	{"Russian in capitals", "windows-1251 koi8-r", "ВНИМАНИЕ! РАСПРОДАЖА ЗИМНЕЙ ОБУВИ. СКИДКИ ДО ПЯТИДЕСЯТИ ПРОЦЕНТОВ НА ВСЕ МОДЕЛИ. ДОСТАВКА ПО ГОРОДУ БЕСПЛАТНО. ТЕЛЕФОН ДЛЯ ЗАКАЗОВ УКАЗАН НА САЙТЕ. МАГАЗИН РАБОТАЕТ КАЖДЫЙ ДЕНЬ БЕЗ ОБЕДА И ВЫХОДНЫХ. ПРИХОДИТЕ К НАМ ВСЕЙ СЕМЬЁЙ, МЫ ЖДЁМ ВАС С ДЕСЯТИ УТРА ДО ВОСЬМИ ВЕЧЕРА. ПОДАРКИ ПЕРВЫМ ПОКУПАТЕЛЯМ."},
	{"Ukrainian", "windows-1251 koi8-u", "Учора вдень міська бібліотека відкрила нову будівлю, і подивитися на неї прийшли сотні містян. У ній п'ять поверхів, понад вісімсот тисяч книжок, дитяча читальна зала, клас із комп'ютерами та невелика кав'ярня. Директорка розповіла, що записатися можна за паспортом, а за один раз дозволено взяти до десяти книжок на місяць. Їжу приносити не можна."},
	{"Bulgarian", "windows-1251", "Вчера следобед градската библиотека отвори новата си сграда и стотици граждани дойдоха да я разгледат. Тя има пет етажа, повече от осемстотин хиляди книги, детска читалня, зала с компютри и малко кафене. Директорът каза, че читателите могат да вземат до десет книги за един месец, ако имат лична карта. В събота и неделя ще работи до девет вечерта."},
	{"Polish", "windows-1250 iso-8859-2", "Wczoraj po południu miejska biblioteka otworzyła nowy budynek, który obejrzały setki mieszkańców. Ma on pięć pięter, ponad osiemset tysięcy książek, czytelnię dla dzieci, salę komputerową i małą kawiarnię. Dyrektor powiedział, że do zapisania się wystarczy dowód osobisty, a jednorazowo można pożyczyć dziesięć książek na miesiąc. W weekendy biblioteka będzie czynna do dwudziestej pierwszej, także w święta. Źródło: urząd miasta."},
	{"Czech", "windows-1250 iso-8859-2", "Včera odpoledne otevřela městská knihovna novou budovu, kterou si přišly prohlédnout stovky obyvatel. Má pět pater, více než osm set tisíc knih, dětskou čítárnu, učebnu s počítači a malou kavárnu. Ředitel řekl, že k přihlášení stačí občanský průkaz a najednou si lze půjčit deset knih na měsíc. O víkendech bude otevřeno do devíti večer. Žádné jídlo dovnitř nenoste, šaty si odložte v šatně."},
	{"Hungarian", "windows-1250 iso-8859-2", "Tegnap délután megnyílt a városi könyvtár új épülete, amelyet több száz polgár tekintett meg. Öt emelete van, több mint nyolcszázezer könyve, gyermekolvasója, számítógépes terme és egy kis kávézója. Az igazgató elmondta, hogy a beiratkozáshoz személyi igazolvány szükséges, és egyszerre tíz könyvet lehet kölcsönözni egy hónapra. Hétvégén este kilencig tart nyitva, ünnepnapokon zárva. Őszintén örülünk a jövő évi bővítésnek, és a gyűjtemény is nő."},
	{"Romanian", "iso-8859-2 windows-1250", "Ieri după-amiază, biblioteca orăşenească a deschis noua clădire, iar sute de locuitori au venit să o vadă. Are cinci etaje, peste opt sute de mii de cărţi, o sală de lectură pentru copii, o clasă cu calculatoare şi o mică cafenea. Directorul a spus că pentru înscriere este nevoie doar de buletin şi că se pot împrumuta zece cărţi odată, timp de o lună. În week-end va fi deschis până la nouă seara."},
	{"Greek", "windows-1253 iso-8859-7", "Χθες το απόγευμα η δημοτική βιβλιοθήκη άνοιξε το νέο της κτίριο και εκατοντάδες πολίτες ήρθαν να το δουν. Έχει πέντε ορόφους, πάνω από οκτακόσιες χιλιάδες βιβλία, παιδικό αναγνωστήριο, αίθουσα με υπολογιστές και ένα μικρό καφέ. Ο διευθυντής είπε ότι για την εγγραφή αρκεί η ταυτότητα και ότι μπορεί κανείς να δανειστεί δέκα βιβλία για έναν μήνα."},
	{"Turkish", "windows-1254", "Dün öğleden sonra şehir kütüphanesi yeni binasını açtı ve yüzlerce kişi görmeye geldi. Beş katlı binada sekiz yüz binden fazla kitap, çocuk okuma salonu, bilgisayar sınıfı ve küçük bir kahve var. Müdür, üye olmak için kimlik kartının yeterli olduğunu ve bir seferde on kitabın bir ay için ödünç alınabileceğini söyledi. Hafta sonları akşam dokuza kadar açık olacak."},
	{"Hebrew", "windows-1255", "אתמול אחר הצהריים נפתח הבניין החדש של הספרייה העירונית, ומאות תושבים באו לראות אותו. יש בו חמש קומות, יותר משמונה מאות אלף ספרים, חדר קריאה לילדים, כיתת מחשבים ובית קפה קטן. המנהל אמר שכדי להירשם די בתעודת זהות, ואפשר לשאול עד עשרה ספרים לחודש. בסופי שבוע הספרייה תהיה פתוחה עד תשע בערב."},
	{"Arabic", "windows-1256 iso-8859-6", "افتتحت المكتبة البلدية أمس بعد الظهر مبناها الجديد، وجاء مئات السكان لمشاهدته. يتكون المبنى من خمسة طوابق ويضم أكثر من ثمانمائة ألف كتاب وقاعة قراءة للأطفال وقاعة للحاسوب ومقهى صغيرا. قال المدير إن التسجيل يحتاج إلى بطاقة الهوية فقط، ويمكن استعارة عشرة كتب في المرة الواحدة لمدة شهر. وفي عطلة الأسبوع تبقى المكتبة مفتوحة حتى التاسعة مساء."},
	{"Lithuanian", "windows-1257", "Vakar po pietų miesto biblioteka atvėrė naują pastatą, kurį apžiūrėti atėjo šimtai gyventojų. Jame yra penki aukštai, daugiau kaip aštuoni šimtai tūkstančių knygų, vaikų skaitykla, kompiuterių klasė ir nedidelė kavinė. Direktorius sakė, kad užsiregistruoti pakanka asmens tapatybės kortelės, o vienu metu galima pasiskolinti dešimt knygų mėnesiui. Savaitgaliais biblioteka dirbs iki devintos vakaro."},
	{"Latvian", "windows-1257", "Vakar pēcpusdienā pilsētas bibliotēka atvēra jauno ēku, un to apskatīt ieradās simtiem iedzīvotāju. Tajā ir pieci stāvi, vairāk nekā astoņi simti tūkstoši grāmatu, bērnu lasītava, datorklase un neliela kafejnīca. Direktors teica, ka pierakstīties var ar personas apliecību un vienā reizē drīkst paņemt desmit grāmatas uz mēnesi. Brīvdienās bibliotēka būs atvērta līdz deviņiem vakarā."},
	{"Thai", "windows-874", "เมื่อวานช่วงบ่าย ห้องสมุดประจำเมืองได้เปิดอาคารใหม่ และมีประชาชนหลายร้อยคนมาเยี่ยมชม อาคารมีห้าชั้น มีหนังสือมากกว่าแปดแสนเล่ม มีห้องอ่านหนังสือสำหรับเด็ก ห้องคอมพิวเตอร์ และร้านกาแฟเล็ก ๆ ผู้อำนวยการกล่าวว่าสมัครสมาชิกได้โดยใช้บัตรประชาชน และยืมหนังสือได้ครั้งละสิบเล่มเป็นเวลาหนึ่งเดือน วันหยุดเปิดถึงสามทุ่ม"},
	{"German", "windows-1252", "Gestern Nachmittag öffnete die städtische Bücherei ihr neues Gebäude, und Hunderte kamen, um es zu sehen. Es hat fünf Stockwerke, über achthunderttausend Bücher, einen Lesesaal für Kinder, einen Raum mit Computern und ein kleines Café. Der Leiter sagte, für die Anmeldung genüge der Ausweis, und man dürfe zehn Bücher für einen Monat mitnehmen – auch „große“ Bände."},
	{"French", "windows-1252", "Hier après-midi, la bibliothèque municipale a inauguré son nouveau bâtiment, et des centaines d’habitants sont venus le découvrir. Il compte cinq étages, plus de huit cent mille livres, une salle de lecture pour enfants, une salle informatique et un petit café. Le directeur a précisé qu’une pièce d’identité suffit pour s’inscrire et qu’on peut emprunter dix livres à la fois pendant un mois."},
	{"Spanish", "windows-1252", "Ayer por la tarde la biblioteca municipal abrió su nuevo edificio y cientos de vecinos acudieron a verlo. Tiene cinco plantas, más de ochocientos mil libros, una sala de lectura para niños, un aula de informática y un pequeño café. El director explicó que para inscribirse basta el documento de identidad y que se pueden llevar diez libros cada vez durante un mes. ¿Abrirá también el domingo? ¡Sí!"},
	{"Swedish and Portuguese", "windows-1252", "I går eftermiddag öppnade stadsbiblioteket sin nya byggnad och hundratals invånare kom för att se den. Huset har fem våningar, över åttahundratusen böcker, en läsesal för barn, ett datorrum och ett litet kafé. Ontem à tarde a biblioteca municipal abriu o novo prédio e centenas de moradores vieram conhecê-lo. Há também uma sala de leitura para crianças e informações sobre doações."},
}

// shells are what a text stands in: nothing, a plain page, and much markup and
// English around it.
var shells = []struct{ name, page string }{
	{"alone", "%s"},
	{"in a page", "<!doctype html><html><head><title>t</title><style>a{color:red}</style></head><body><div class=\"main\"><p>%s</p></div></body></html>"},
	{"among English", "<html><body><script>var x = {\"a\": [1,2,3]}; function f(a){return a+1;}</script><ul>" +
		strings.Repeat("<li class=\"item nav\"><a href=\"/index.php?id=1\">Home</a></li>", 40) +
		"</ul><p>%s</p><p>Copyright 2020 Example Inc. All rights reserved. Contact us by mail.</p></body></html>"},
}

func TestLongPagesOfEveryEncodingAreToldByTheirBytes(t *testing.T) {
	for _, l := range languages {
		for name := range strings.FieldsSeq(l.encodings) {
			enc, err := htmlindex.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, shell := range shells {
				t.Run(l.name+" in "+name+", "+shell.name, func(t *testing.T) {
					text, got := ToUTF8([]byte(in(t, enc, strings.ReplaceAll(shell.page, "%s", l.text))), "")
					if !strings.Contains(string(text), l.text) {
						t.Errorf("read as %s (%s)", got.Name, got.Source)
					}
				})
			}
		}
	}
}
