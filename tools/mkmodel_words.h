/* mkmodel_words.h - the English that mkmodel's vocabulary is trained on.
 *
 * Plain common words, most frequent group first; the order is the only statistic: the n-th word
 * of the whole table weighs about 1/n. Every entry of `mkmodel_words` ends up as one token with
 * its leading space (" the"), and every entry of `mkmodel_pieces` as one token without it, so
 * that an unlisted word made of listed parts (" walk" + "ing") stays short. Adding a word adds
 * about two tokens; mkmodel drops words that appear twice. */
#ifndef MKMODEL_WORDS_H
#define MKMODEL_WORDS_H

static const char *const mkmodel_words[] = {
    /* function words */
    "the of and to a in is it you that he was for on are with as I his they be at one have this "
    "from or had by not but what all were we when your can said there use an each which she do how "
    "their if will up other about out many then them these so some her would make like him into "
    "time has look two more write go see number no way could people my than first been call who "
    "its now find long down day did get come made may part over new after also back only know",

    /* everyday words */
    "take year live me give most very our just name good sentence man think say great where help "
    "through much before line right too mean old any same tell boy follow came want show around "
    "form three small set put end does another well large must big even such because turn here why "
    "ask went men read need land different home us move try kind hand picture again change off "
    "play spell air away animal house point page letter mother answer found study still learn "
    "should world high every near add food between own below country plant last school father "
    "keep tree never start city earth eye light thought head under story saw left few while along "
    "might close something seem next hard open example begin life always those both paper together "
    "got group often run important until children side feet car mile night walk white sea began "
    "grow took river four carry state once book hear stop without second later miss idea enough "
    "eat face watch far really almost let above girl sometimes mountain cut young talk soon list "
    "song being leave family body music color stand sun question fish area mark dog horse bird",

    "problem complete room knew since ever piece told usually friend easy heard order red door "
    "sure become top ship across today during short better best however low hour black product "
    "happen whole measure remember early wave reach listen wind rock space cover fast several hold "
    "himself toward five step morning pass vowel true hundred against pattern table north slow "
    "money map farm pull draw voice power town fine certain fly fall lead cry dark machine note "
    "wait plan figure star box noun field rest correct able pound done beauty drive stood contain "
    "front teach week final gave green quick develop ocean warm free minute strong special mind "
    "behind clear tail produce fact street inch nothing course stay wheel full force blue object "
    "decide surface deep moon island foot system busy test record boat common gold possible plane "
    "age dry wonder laugh thousand ago ran check game shape yes hot brought heat snow bring fill "
    "east weight language among",

    /* things, work and people */
    "word work place water thing little only part small every person child woman women eye job "
    "business issue company case program government night point week member law car community "
    "president team information parent level office health art war history party result reason "
    "research moment teacher education policy process service market sense nation college interest "
    "death experience effect class control care field development role effort rate heart drug "
    "leader police model price building court cost value matter action activity season society tax "
    "director position player record stage ground knowledge window amount century evidence culture "
    "staff standard industry economy production management network data bill project phone "
    "computer software memory engine server request token context length message reply answer "
    "speed latency throughput measure result average total store user client load test report "
    "design tool code file page text string key index stream buffer thread time second minute",

    "bank bed bridge bread brother camera capital center chair chance choice church circle coast "
    "coffee corner crowd daughter degree desk difference direction distance doctor dream dress "
    "edge egg event expert fear finger fire floor flower garden gift glass goal grass guess gun "
    "hair hall hat hill hope hospital hotel husband image job journey judge kitchen lake leg "
    "lesson "
    "library lunch meal meat meeting metal method milk mouth neck noise nose oil orange pain pair "
    "park past path peace pen plate pocket poem post rain ring road roof root rule sail salt sand "
    "scene school science season seat shadow shirt shoe shop shoulder sign silence sister size "
    "skin "
    "sky smile soil son sound source south spring station steel stone storm stranger summer sugar "
    "tea tooth touch track trade train travel trip trouble truth uncle valley view village visit "
    "wall west wife wing winter wood yard",

    /* doing */
    "feel become include continue believe allow understand watch create speak spend offer consider "
    "appear buy serve die send expect build stay reach remain suggest raise sell require decide "
    "explain return hope carry break receive agree support hit cause meet lose win pay join save "
    "choose love wear share accept describe apply arrive discuss drop enter express finish fight "
    "forget forgive gather guide hide hang improve increase indicate invite kill kiss lie lift "
    "manage mention notice obtain order pick point prepare press prevent promise protect prove "
    "provide push reduce refer refuse relate release remove repeat replace represent rise roll "
    "rush "
    "search settle shake shout sing sit sleep stretch strike supply suppose surprise throw tie "
    "wash "
    "wish worry",

    /* describing */
    "able available bad beautiful better bright broad calm cheap clean cold cool dangerous dead "
    "deep difficult direct dirty empty entire equal exact familiar famous federal final financial "
    "foreign former fresh friendly full general gentle gray happy heavy human huge kind large late "
    "likely local lonely loud low lucky main major medical modern national natural nice normal "
    "obvious ordinary particular perfect personal physical plain pleasant poor popular positive "
    "present pretty private public pure quiet rare ready real recent rich rough round sad safe "
    "secret separate serious sharp sick silent similar simple single smooth social soft steady "
    "strange sudden sweet tall thick thin tired traditional useful usual various warm weak wet "
    "wide "
    "wild wise wooden wrong yellow",

    /* joining and qualifying */
    "according actually ahead alone already although anyone anything apart apparently beneath "
    "beside besides beyond certainly clearly completely daily despite directly easily either else "
    "especially everyone everything exactly except fairly finally forever forward generally half "
    "hardly hence herself immediately indeed inside instead itself largely less likewise mainly "
    "maybe meanwhile merely mostly myself nearly neither nobody none nor nowhere obviously "
    "occasionally onto outside per perhaps probably quickly quietly quite rather recently "
    "relatively seldom shall simply slightly slowly somebody someone somewhere suddenly themselves "
    "therefore though throughout thus tonight tomorrow twice unless unlike upon whatever whether "
    "whose within yesterday yet yourself",

    /* inflections frequent enough to deserve a token of their own */
    "things years times days words ways eyes hands friends places parts books houses hours months "
    "weeks minutes problems students countries families cities stories men lives leaves trees "
    "students states questions ideas reasons results numbers names systems points lines others "
    "looked asked called seemed turned wanted used tried worked needed moved started lived played "
    "walked talked opened closed stopped passed followed looking going making taking coming "
    "getting "
    "being having doing saying trying working using looking thinking reading writing running "
    "standing sitting waiting walking talking growing gone taken given seen known written done "
    "spoken broken says goes makes takes comes gets gives keeps seems means needs wants uses knows "
    "better larger smaller higher lower older younger longer greater earlier faster largest least",

    /* counting and calendar */
    "zero six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand "
    "million "
    "first second third fourth fifth January February March April May June July August September "
    "October November December Monday Tuesday Wednesday Thursday Friday Saturday Sunday",

    /* sentence starters */
    "The It He She They We You This That There In A And But If When What So As At For From To On "
    "One Some Many Most Each After Before Then Now How Why Where While Who His Her My Our Their No "
    "Not Yes All By With Once",
};

static const char *const mkmodel_pieces[] = {
    /* endings */
    "s ed ing ly er est en es ies ied tion ions ment ments ness able ible al ial ally ful less "
    "ous ious ive ative ity ty ance ence ant ent ist ism ize ise ized ship hood ward age ure ate "
    "ated ating th st nd rd ck ght ll ss tt ch sh 's 't 're 've 'll 'd 'm",
    /* beginnings and middles */
    "un re in im dis mis pre pro con com per sub over under out inter trans ex de be for fore an "
    "ad "
    "ab ac ap ar as at au ea ee ou ow oo ai ay oa oi le el il ol ul ra re ri ro ru la li lo lu ma "
    "me mi mo mu na ne ni no nu pa pe pi po pu ta te ti to tu",
    /* starts of text, and line and paragraph breaks */
    "The It In A We This You \n\n .\n .\n\n ,\n ... -- \" .\" ,\" ?\"",
};

#endif
